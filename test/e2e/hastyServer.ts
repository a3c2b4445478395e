import { serveWith } from './serveWith.ts'

/** The server as it is shipped, but that it sends messages again, and looks at forges, within seconds. */
await serveWith({
  webhookTiming: { timeoutMs: 2000, retrySecs: Array.from({ length: 9 }, () => 0.5) },
  forgePolling: { minMs: 100, maxMs: 1000 },
})
