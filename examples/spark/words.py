"""Writes the lines of text files to examples/spark_words.py, and shows what it has counted.

Run it:
    heronpy submit examples/spark_words.py
    python examples/spark/words.py README.md
"""

import os
import sys

from pyspark.sql import SparkSession
from pyspark.sql.functions import desc
from pyspark.sql.functions import max as largest

from heronpy.spark import HeronDataSource, feed

# Spark's workers must be a Python that has heronpy and pyarrow: this one
os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
spark = SparkSession.builder.master("local[2]").appName("words").getOrCreate()
spark.dataSource.register(HeronDataSource)

lines = spark.read.text(sys.argv[1:]).withColumnRenamed("value", "line")
feed(lines, "SparkWords", "lines", wait=True)  # until a checkpoint of the topology has them

# each count that a word has had is a row; the last one is the largest
counts = spark.read.format("heron").option("topology", "SparkWords").option("component", "counts").load()
counts.groupBy("word").agg(largest("count").alias("count")).orderBy(desc("count"), "word").show(5)
