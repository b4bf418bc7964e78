# The build stage has the compiler and headers for better-sqlite3; the final image does not.
# The digest is that of node:22-bookworm-slim with Node.js 22.23.1.
ARG NODE_IMAGE=node:22-bookworm-slim@sha256:53ada149d435c38b14476cb57e4a7da73c15595aba79bd6971b547ceb6d018bf

FROM ${NODE_IMAGE} AS build
RUN apt-get update \
 && apt-get install -y --no-install-recommends python3 make g++ \
 && rm -rf /var/lib/apt/lists/*
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci
COPY tsconfig.json tsconfig.build.json tsconfig.client.json ./
COPY scripts ./scripts
COPY src ./src
RUN npm run build && npm run --silent sbom && npm prune --omit=dev

FROM ${NODE_IMAGE}
LABEL org.opencontainers.image.title="callgate" \
      org.opencontainers.image.description="Decides whether an outbound call may be placed" \
      org.opencontainers.image.licenses="MIT"
ENV NODE_ENV=production \
    CALLGATE_HTTP_HOST=0.0.0.0 \
    CALLGATE_DATA_DIR=/data
WORKDIR /app
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
COPY package.json LICENSE ./
COPY config ./config
RUN mkdir -m 700 /data && chown node:node /data
# The user "node" as a number, which Kubernetes can compare with runAsNonRoot.
USER 1000:1000
VOLUME /data
EXPOSE 8480
HEALTHCHECK --interval=30s --timeout=3s --start-period=60s --start-interval=1s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:' + (process.env.CALLGATE_HTTP_PORT || 8480) + '/healthz').then(r => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "--max-semi-space-size=32", "--max-old-space-size=400", "dist/main.js"]
CMD ["serve"]
