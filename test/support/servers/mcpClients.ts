import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'

/** Clients of the protocol's own package. */
export interface McpClients {
  /** @param query the query of the address: `?tools=find` */
  connect(url: string, token: string, query?: string): Promise<Client>
  close(): Promise<void>
}

export function mcpClients(): McpClients {
  const clients: Client[] = []
  return {
    connect: async (url, token, query = '') => {
      const client = new Client({ name: 'test', version: '1.0.0' })
      await client.connect(
        new StreamableHTTPClientTransport(new URL(`${url}/api/mcp${query}`), {
          requestInit: { headers: { authorization: `Bearer ${token}` } },
        }),
      )
      clients.push(client)
      return client
    },
    close: async () => {
      for (const client of clients) await client.close()
    },
  }
}
