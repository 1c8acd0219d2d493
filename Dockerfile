# clew as a service: clew serve --store postgresql://…  (see docs/guides/http-api.md)
FROM python:3.12-slim
WORKDIR /app
COPY pyproject.toml README.md LICENSE NOTICE ./
COPY src ./src
COPY examples/sphinx-9229.traj.json.zst ./examples/
# hadolint ignore=DL3013 # the package is the folder itself; its dependencies have bounds in pyproject.toml
RUN pip install --no-cache-dir '.[service,embeddings,archive,otel]' && useradd --create-home --uid 10001 clew
USER 10001
EXPOSE 8700
ENTRYPOINT ["clew", "serve", "--host", "0.0.0.0", "--port", "8700"]
