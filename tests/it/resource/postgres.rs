//! `SqlQuery` on a real PostgreSQL server, which `tests/third_party/postgres/drive.sh` installs and starts.
