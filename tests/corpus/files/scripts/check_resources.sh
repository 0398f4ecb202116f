# A file under its own name, one under another, and what is in an archive.
[ -f common.zip ] && [ -f test20.zip ] && [ -f test2.zip/123.xml ] && [ -f lib/helper.jar ]
