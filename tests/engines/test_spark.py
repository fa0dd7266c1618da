"""SparkEngine in a process where Spark runs already."""

import os
import shutil
import sys

import pytest

from proxcode.engines import SparkEngine


def test_a_spark_context_of_the_caller_is_used_and_stays(monkeypatch):
    pyspark = pytest.importorskip("pyspark", reason="pyspark is not installed: make test-engines")
    if not (shutil.which("java") or os.environ.get("JAVA_HOME")):
        pytest.skip("Spark needs Java: install default-jre-headless")
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    settings = pyspark.SparkConf().set("spark.ui.enabled", "false").set("spark.driver.host", "127.0.0.1")
    with pyspark.SparkContext("local[1]", "of the caller", conf=settings) as context:
        with pytest.raises(ValueError, match=r"^session='local\[2\]': Spark runs already; pass its session, or stop"):
            SparkEngine("local[2]")
        with SparkEngine() as engine:
            assert engine.session.sparkContext.applicationId == context.applicationId
            assert list(engine.map(str, range(3))) == ["0", "1", "2"]
        assert context.parallelize([1, 2]).sum() == 3
