# clew as a service: clew serve --store postgresql://…  (see docs/guides/http-api.md)
FROM python:3.12-slim
WORKDIR /app
COPY pyproject.toml README.md LICENSE NOTICE ./
COPY src ./src
RUN pip install --no-cache-dir '.[service,embeddings]' && useradd --create-home clew
USER clew
EXPOSE 8700
ENTRYPOINT ["clew", "serve", "--host", "0.0.0.0", "--port", "8700"]
