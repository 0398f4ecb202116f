# Until somebody ends it, which the job does.
exec sleep 1000
