import { runServe } from '../../daemon/main.ts'
import { serverDefaults } from '../../src/config/server.ts'

/** The server as it is shipped, but that it sends messages again within seconds. */
Object.assign(serverDefaults, { webhookTiming: { timeoutMs: 2000, retrySecs: Array.from({ length: 9 }, () => 0.5) } })
await runServe({ port: 0, dataDir: process.argv[process.argv.indexOf('--data-dir') + 1], allowPrivateWebhooks: true, logLevel: 'error' }, false)
