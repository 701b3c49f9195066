/* Preloaded into processes: writes down what a disk must still have after its power was cut.

   Nothing is written to the disk any sooner than the system likes, so only two kinds of calls count: those that sync a file or a
   folder, and renames, which are of two folders. For each there is one line in the journal:

     F  KEY BLOB                                        a file was synced; its content of that moment is in the folder blobs
     D  KEY MODE (NAME KEY KIND MODE TARGET)...         a folder was synced; these were its entries
     R  FOLDER NAME FOLDER NAME KEY KIND MODE           a file or a folder was moved from the one to the other

   A key is a file's own for as long as the disk exists: its number may be used again. Lines are in the order of what they tell.
   The calls to sync do nothing else: that is what makes them quick. */

#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define KEY 320
#define CHUNK 65536

static char root[PATH_MAX], folder[PATH_MAX];

struct text {
    char *bytes;
    size_t length, room;
};

void synced_begin(const char *watched, const char *notes)
{
    snprintf(root, sizeof root, "%s", watched);
    snprintf(folder, sizeof folder, "%s", notes);
}

__attribute__((constructor)) static void begin(void)
{
    const char *watched = getenv("SYNCED_ROOT"), *notes = getenv("SYNCED_NOTES");
    if (watched && notes)
        synced_begin(watched, notes);
}

static void add(struct text *text, const char *format, ...)
{
    va_list list;
    if (text->room - text->length < 2 * PATH_MAX) {
        text->room = 2 * text->room + 4 * PATH_MAX;
        text->bytes = realloc(text->bytes, text->room);
        if (!text->bytes)
            abort();
    }
    va_start(list, format);
    text->length += vsnprintf(text->bytes + text->length, text->room - text->length, format, list);
    va_end(list);
}

/* No two processes or threads are in here at once. A lock that is let go of is free, also if a forked child has it, too. */
static int enter(void)
{
    char path[PATH_MAX + 16];
    snprintf(path, sizeof path, "%s/lock", folder);
    int lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    while (lock >= 0 && flock(lock, LOCK_EX) != 0 && errno == EINTR)
        ;
    return lock;
}

static void leave(int lock)
{
    if (lock >= 0) {
        flock(lock, LOCK_UN);
        close(lock);
    }
}

static void note(struct text *line)
{
    char path[PATH_MAX + 16];
    snprintf(path, sizeof path, "%s/journal", folder);
    int journal = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (journal < 0 || write(journal, line->bytes, line->length) != (ssize_t)line->length)
        abort();
    close(journal);
}

/* Opens nothing: whoever closes a file gives up all locks that its process has on it, and SQLite has some. */
static int key_of(int at, const char *name, int flags, char *key, struct statx *found)
{
    struct {
        struct file_handle handle;
        unsigned char bytes[MAX_HANDLE_SZ];
    } made;
    int mount, length;
    if (statx(at, name, flags | AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS | STATX_BTIME, found) != 0)
        return -1;
    length = snprintf(key, KEY, "%llu.%lld.%u", (unsigned long long)found->stx_ino, (long long)found->stx_btime.tv_sec,
                      found->stx_btime.tv_nsec);
    made.handle.handle_bytes = MAX_HANDLE_SZ;
    if (name_to_handle_at(at, name, &made.handle, &mount, flags) == 0)
        for (unsigned each = 0; each < made.handle.handle_bytes; each++)
            length += snprintf(key + length, KEY - length, each ? "%02x" : ".%02x", made.handle.f_handle[each]);
    return 0;
}

static char kind_of(const struct statx *found)
{
    return S_ISDIR(found->stx_mode) ? 'd' : S_ISLNK(found->stx_mode) ? 'l' : S_ISREG(found->stx_mode) ? 'f' : 'o';
}

static int is_watched(int fd)
{
    char link[64], path[PATH_MAX];
    size_t length = strlen(root);
    if (!length)
        return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t found = readlink(link, path, sizeof path - 1);
    if (found < 0)
        return 0;
    path[found] = 0;
    return strncmp(path, root, length) == 0 && (path[length] == 0 || path[length] == '/');
}

static void note_folder(int fd, struct text *line)
{
    char key[KEY], target[PATH_MAX];
    struct statx found;
    struct dirent *entry;
    if (key_of(fd, "", AT_EMPTY_PATH, key, &found) != 0)
        return;
    add(line, "D\t%s\t%o", key, found.stx_mode & 07777);
    DIR *entries = fdopendir(openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    while (entries && (entry = readdir(entries))) {
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..") || key_of(fd, entry->d_name, 0, key, &found) != 0)
            continue;
        ssize_t length = S_ISLNK(found.stx_mode) ? readlinkat(fd, entry->d_name, target, sizeof target - 1) : 0;
        target[length < 0 ? 0 : length] = 0;
        add(line, "\t%s\t%s\t%c\t%o\t%s", entry->d_name, key, kind_of(&found), found.stx_mode & 07777, target);
    }
    if (entries)
        closedir(entries);
    add(line, "\n");
}

static void copy(int source, int target)
{
    char bytes[CHUNK];
    off_t at = 0;
    ssize_t count;
    while ((count = pread(source, bytes, sizeof bytes, at)) > 0) {
        if (write(target, bytes, count) != count)
            abort();
        at += count;
    }
    if (count < 0)
        abort();
}

static void note_file(int fd, struct text *line)
{
    static unsigned long count;
    char key[KEY], path[PATH_MAX + 64], link[64];
    struct statx found;
    unsigned long number = __sync_add_and_fetch(&count, 1);
    if (key_of(fd, "", AT_EMPTY_PATH, key, &found) != 0)
        return;
    snprintf(path, sizeof path, "%s/blobs/%d-%lu", folder, getpid(), number);
    int blob = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600), source = fd;
    if ((fcntl(fd, F_GETFL) & O_ACCMODE) == O_WRONLY) {
        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        source = open(link, O_RDONLY | O_CLOEXEC);
    }
    copy(source, blob);
    if (source != fd)
        close(source);
    close(blob);
    add(line, "F\t%s\t%d-%lu\n", key, getpid(), number);
}

static int synced(int fd, long call)
{
    if (!is_watched(fd))
        return syscall(call, fd);
    struct stat found;
    struct text line = {0};
    if (fstat(fd, &found) != 0)
        return -1;
    int lock = enter();
    if (S_ISDIR(found.st_mode))
        note_folder(fd, &line);
    else if (found.st_nlink)
        note_file(fd, &line);
    if (line.length)
        note(&line);
    leave(lock);
    free(line.bytes);
    return 0;
}

int fsync(int fd) { return synced(fd, SYS_fsync); }
int fdatasync(int fd) { return synced(fd, SYS_fdatasync); }

/* The folder that a path is in, opened just to know it. */
static int folder_of(int at, const char *path, const char **name)
{
    char above[PATH_MAX];
    const char *slash = strrchr(path, '/');
    *name = slash ? slash + 1 : path;
    snprintf(above, sizeof above, "%.*s", slash ? (int)(slash - path) : 0, path);
    return openat(at, slash == path ? "/" : slash ? above : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
}

int renameat2(int from, const char *old, int to, const char *new, unsigned int flags)
{
    const char *old_name, *new_name;
    if (!*root)
        return syscall(SYS_renameat2, from, old, to, new, flags);
    int source = folder_of(from, old, &old_name), target = folder_of(to, new, &new_name), result, why;
    if ((source < 0 || !is_watched(source)) && (target < 0 || !is_watched(target))) {
        result = syscall(SYS_renameat2, from, old, to, new, flags);
        why = errno;
    } else {
        char source_key[KEY], target_key[KEY], key[KEY];
        struct statx found;
        struct text line = {0};
        int lock = enter();
        result = syscall(SYS_renameat2, from, old, to, new, flags);
        why = errno;
        if (result == 0 && key_of(source, "", AT_EMPTY_PATH, source_key, &found) == 0
            && key_of(target, "", AT_EMPTY_PATH, target_key, &found) == 0) {
            if (!flags && key_of(target, new_name, 0, key, &found) == 0) {
                add(&line, "R\t%s\t%s\t%s\t%s\t%s\t%c\t%o\n", source_key, old_name, target_key, new_name, key,
                    kind_of(&found), found.stx_mode & 07777);
                note(&line);
            }
        }
        leave(lock);
        free(line.bytes);
    }
    close(source);
    close(target);
    errno = why;
    return result;
}

int rename(const char *old, const char *new) { return renameat2(AT_FDCWD, old, AT_FDCWD, new, 0); }
int renameat(int from, const char *old, int to, const char *new) { return renameat2(from, old, to, new, 0); }
