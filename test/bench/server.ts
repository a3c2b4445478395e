import { createStderrLog } from '../../daemon/process/stderrLog.ts'
import { startServer } from '../../daemon/process/startServer.ts'
import { serverDefaults } from '../../src/config/server.ts'
import { serveParent } from './ipc.ts'

/** The shipped board. Its rate limit counts as usual, but never rejects. */
const {
  dataDir,
  database,
  webRoot,
  agentSlots = serverDefaults.agentSlots,
} = JSON.parse(process.argv[2]!) as { dataDir: string; database?: string; webRoot?: string; agentSlots?: number }
const server = await startServer(
  {
    ...serverDefaults,
    port: 0,
    dataDir,
    webRoot,
    agentSlots,
    database: database === undefined ? undefined : { url: database, host: 'bench' },
    logLevel: 'error',
    externalRequestsPerMinute: Number.MAX_SAFE_INTEGER,
    agentRequestsPerMinute: Number.MAX_SAFE_INTEGER,
  },
  createStderrLog('error'),
)
serveParent(Number(new URL(server.url).port), { stop: () => server.stop() })
