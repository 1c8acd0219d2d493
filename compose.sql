-- Run once by the database's container: a role without special rights that owns clew's database.
\set password `echo "$POSTGRES_PASSWORD"`
CREATE ROLE clew LOGIN PASSWORD :'password';
CREATE DATABASE clew OWNER clew ENCODING 'UTF8' TEMPLATE template0;
\connect clew
CREATE EXTENSION vector;
