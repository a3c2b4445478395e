import { createServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { buffer, json } from 'node:stream/consumers'

/** A server of Git LFS with its batch interface and basic transfers. */
export interface LargeFileServer {
  /** The address for `lfs.url`. */
  url: string
  /** The files by SHA-256. */
  files: Map<string, Buffer>
  close(): Promise<void>
}

interface Batch {
  operation: 'download' | 'upload'
  objects: Array<{ oid: string; size: number }>
}

export async function startLargeFileServer(): Promise<LargeFileServer> {
  const files = new Map<string, Buffer>()
  const server = createServer(async (request, response) => {
    const id = request.url!.slice('/lfs/'.length)
    if (request.method === 'PUT') {
      files.set(id, await buffer(request))
      return response.end()
    }
    if (request.method === 'GET') return response.writeHead(files.has(id) ? 200 : 404).end(files.get(id))
    if (request.url !== '/lfs/objects/batch') return response.writeHead(404).end()
    const { operation, objects } = (await json(request)) as Batch
    const answers = objects.map(({ oid, size }) => {
      if (operation === 'download' && !files.has(oid)) return { oid, size, error: { code: 404, message: 'Not found' } }
      return { oid, size, authenticated: true, actions: { [operation]: { href: `${url}/${oid}` } } }
    })
    response.setHeader('content-type', 'application/vnd.git-lfs+json')
    response.end(JSON.stringify({ transfer: 'basic', objects: answers }))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/lfs`
  return {
    url,
    files,
    close: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
