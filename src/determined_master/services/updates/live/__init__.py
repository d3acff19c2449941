"""The live channel: topics that many viewers share, fed by changes in memory."""
