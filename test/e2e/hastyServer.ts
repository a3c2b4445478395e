import { runServe } from '../../daemon/main.ts'
import { serverDefaults } from '../../src/config/server.ts'

/** The server as it is shipped, but that it sends messages again within seconds. */
Object.assign(serverDefaults, { webhookTiming: { timeoutMs: 2000, retrySecs: Array.from({ length: 9 }, () => 0.5) } })
const given = (name: string) => (process.argv.includes(name) ? process.argv[process.argv.indexOf(name) + 1] : undefined)
await runServe(
  {
    port: 0,
    dataDir: given('--data-dir'),
    database: given('--database'),
    machine: given('--machine'),
    allowPrivateWebhooks: true,
    logLevel: 'error',
  },
  false,
)
