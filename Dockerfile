# The server alone: agents run beside it, not in it. docker-compose.yml says how it is started.

FROM python:3.12-slim AS build
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY searchsim searchsim
COPY corpora corpora
COPY injectors injectors
COPY adapters adapters
COPY experiments experiments
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

FROM python:3.12-slim
ENV PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    HOME=/tmp \
    SEARCHSIM_CACHE=/tmp/cache
# A new volume on /data takes over its owner.
RUN groupadd --gid 10001 searchsim \
    && useradd --uid 10001 --gid 10001 --no-create-home --home-dir /tmp --shell /usr/sbin/nologin searchsim \
    && install -d -o 10001 -g 10001 /data
COPY requirements.txt /locked/requirements.txt
COPY --from=build /wheels /wheels
# As constraints, the locked versions hold for what the wheel needs, and nothing else of them is installed.
RUN pip install --no-cache-dir --constraint /locked/requirements.txt /wheels/*.whl \
    && rm -rf /locked
USER 10001:10001
WORKDIR /data
EXPOSE 8080
ENTRYPOINT ["searchsim"]
CMD ["--help"]
