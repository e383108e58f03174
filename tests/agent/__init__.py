"""Tests of the study's report."""
