import { serveWith } from './serveWith.ts'

/** The shipped server, except that it retries deliveries and polls forges within seconds. */
await serveWith({
  webhookTiming: { timeoutMs: 2000, retrySecs: Array.from({ length: 9 }, () => 0.5) },
  forgePolling: { minMs: 100, maxMs: 1000 },
})
