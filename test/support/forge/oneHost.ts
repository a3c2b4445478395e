import { createServer, request } from 'node:http'
import type { FakeForge } from './fakeForge.ts'
import { closeServer, listen } from './forgeServer.ts'

/** Serves several forges with one repository each as one forge. A request without a repository goes to the first. */
export async function oneHost(...forges: readonly FakeForge[]): Promise<{ url: string; close(): Promise<void> }> {
  const server = createServer((incoming, response) => {
    const path = incoming.url!
    const named = forges.find(({ options: { owner, name } }) =>
      new RegExp(`/${owner}/${name}(\\.git)?(/|$)`).test(path),
    )
    const { method, headers } = incoming
    const outgoing = request((named ?? forges[0]!).url + path, { method, headers }, answer => {
      response.writeHead(answer.statusCode!, answer.headers)
      answer.pipe(response)
    })
    outgoing.once('error', () => response.destroy())
    incoming.pipe(outgoing)
  })
  const url = await listen(server)
  return { url, close: () => closeServer(server) }
}
