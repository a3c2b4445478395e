import { afterAll } from 'vitest'
import type { ServerConfig } from '../../src/config/server.ts'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'
import { noLibsqlServer, startLibsqlServer, type LibsqlServer } from '../support/servers/libsqlServer.ts'

export const secretKey = 'c2hhcmVkIGJ5IGFsbCBkYWVtb25zIG9mIGEgdGVzdCE='

/** Whether there is a real libSQL server for tests; each file starts its own. */
export const isSharable = noLibsqlServer === undefined

/** A libSQL server, and daemons on it, which end with the test file. */
export interface Sharing {
  server: LibsqlServer
  /** Starts a daemon of a machine. */
  join(machine: string, config?: Partial<ServerConfig>): Promise<TestBoard>
  /** Registers work for the end of the file, before the server ends. */
  end(work: () => Promise<void>): void
}

export async function startSharing(): Promise<Sharing> {
  const server = await startLibsqlServer()
  const endings: Array<() => Promise<void>> = []
  afterAll(async () => {
    for (const end of endings) await end()
    await server.close()
  })
  return {
    server,
    end: work => {
      endings.push(work)
    },
    join: async (machine, config = {}) => {
      const board = await startBoard({ secretKey, ...config, database: { url: server.url, host: machine } })
      endings.push(() => board.close())
      return board
    },
  }
}
