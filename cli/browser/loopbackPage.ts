import { randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A browser's request, and the function that answers it. */
export interface Visit {
  query: URLSearchParams
  answer(title: string, text: string): Promise<void>
  /** Redirects the browser. The address appears only in the browser's own history. */
  sendTo(location: string): Promise<void>
}

/** A single-use page on this machine with an unguessable address. */
export interface Loopback {
  url: string
  /** The first visit. All other requests get 404. */
  visit: Promise<Visit>
  close(): void
}

/** Listens on 127.0.0.1, on a free port. */
export async function listenOnLoopback(): Promise<Loopback> {
  const path = `/${randomBytes(16).toString('base64url')}`
  const server = createServer()
  const visit = new Promise<Visit>(resolve => {
    server.on('request', ({ method, url = '' }, response) => {
      const [asked, query] = url.split('?')
      if (method !== 'GET' || asked !== path || query === undefined)
        return response.writeHead(404, { connection: 'close' }).end()
      resolve({
        query: new URLSearchParams(query),
        answer: (title, text) =>
          new Promise(done => response.writeHead(200, headers).once('close', done).end(page(title, text))),
        sendTo: location =>
          new Promise(done =>
            response
              .writeHead(302, { ...headers, location })
              .once('close', done)
              .end(),
          ),
      })
    })
  })
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}${path}`,
    visit,
    close: () => {
      server.close()
      server.closeAllConnections()
    },
  }
}

const headers = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
  connection: 'close',
}

const page = (title: string, text: string) =>
  `<!doctype html><html lang="en"><meta charset="utf-8"><title>${escapeHtml(title)}</title><h1>${escapeHtml(title)}</h1><p>${escapeHtml(text)}</p></html>\n`

const escapeHtml = (text: string) => text.replace(/[&<>"']/g, character => `&#${character.charCodeAt(0)};`)
