import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { Webhook } from 'standardwebhooks'

/** A request to a receiver. `message` is its body, parsed. */
export interface Received {
  path: string
  method: string
  headers: Record<string, string>
  body: string
  message: { type: string; timestamp: string; projectId?: string; seq?: number; data: any }
  id: string
}

/** A real receiver on this machine. */
export interface Receiver {
  url: string
  received: Received[]
  /** The requests to one path. */
  at(path: string): Received[]
  close(): Promise<void>
}

/** Starts a receiver. By default, without `answer`, it responds with 204. */
export async function startReceiver(
  answer: (received: Received, response: ServerResponse) => unknown = (_, response) => response.writeHead(204).end(),
): Promise<Receiver> {
  const received: Received[] = []
  const server = createServer((request, response) => {
    void read(request).then(each => {
      received.push(each)
      return answer(each, response)
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  return {
    url: `http://127.0.0.1:${port}`,
    received,
    at: path => received.filter(each => each.path === path),
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

async function read(request: IncomingMessage): Promise<Received> {
  const body = await text(request)
  const headers = request.headers as Record<string, string>
  return {
    path: request.url!,
    method: request.method!,
    headers,
    body,
    message: JSON.parse(body),
    id: headers['webhook-id']!,
  }
}

/** The payload of a request, verified by the reference library. @throws WebhookVerificationError */
export const verified = (secret: string, { body, headers }: Received): unknown =>
  new Webhook(secret).verify(body, headers)
