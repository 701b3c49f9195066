"""`python -m heronpy.loading.answer FOLDER`: do what a command asks for, beside the user's file."""

import sys

import msgspec

from heronpy.loading.exchange import ExplainRequest, Outcome, Request, RunRequest, result_file, wanted_file


def answered(wanted: Request) -> Outcome:
    """The outcome of one request; what it needs is imported for it alone."""
    if isinstance(wanted, RunRequest):
        from heronpy.loading.pipeline_script import run_file

        return run_file(wanted)
    if isinstance(wanted, ExplainRequest):
        from heronpy.loading.explaining import explain

        return explain(wanted)
    from heronpy.loading.script import load

    return load(wanted)


def main(folder: str) -> None:
    """Answer the request in a folder."""
    outcome = answered(msgspec.json.decode(wanted_file(folder).read_bytes(), type=Request))
    result_file(folder).write_bytes(msgspec.json.encode(outcome))


if __name__ == "__main__":
    main(sys.argv[1])  # the user's file gets a sys.argv of its own
