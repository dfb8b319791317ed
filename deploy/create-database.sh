#!/bin/sh
# Run by the image of PostgreSQL when its volume is new. The service's role is no superuser, for whom
# row-level security would not hold.
set -eu
psql -v ON_ERROR_STOP=1 -v password="$(cat "${THEANINE_PASSWORD_FILE:-/run/secrets/database_password}")" \
    --username "${POSTGRES_USER:-postgres}" --dbname postgres <<'SQL'
CREATE ROLE theanine LOGIN PASSWORD :'password';
CREATE DATABASE theanine OWNER theanine;
SQL
