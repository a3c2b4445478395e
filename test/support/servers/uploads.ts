import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { ServerConfig } from '../../../src/config/server.ts'
import { startBoard, type Reply, type TestBoard } from './testBoard.ts'

/** A board with a project, and the card of the uploads. */
export interface Uploads {
  board: TestBoard
  /** The latest card, and the path of its attachments. */
  cardId: string
  path: string
  freshCard(): Promise<void>
  /** The ids of the card for the typed client. */
  card(): { projectId: string; cardId: string }
  /** Sends a multipart body of the boundary `xyz` to the card. */
  send(raw: Buffer, headers?: Record<string, string>): Promise<Reply>
  upload(filename: string, body: string | Buffer, type?: string): Promise<Reply>
  download(id: string, headers?: Record<string, string>): Promise<Response>
  filesOnDisk(): string[]
}

export async function startUploads(config: Partial<ServerConfig> = {}): Promise<Uploads> {
  const board = await startBoard(config)
  const { id: projectId } = await board.client.projects.create({ name: 'P', path: board.folder('p') })
  const uploads: Uploads = {
    board,
    cardId: '',
    path: '',
    freshCard: async () => {
      uploads.cardId = (await board.client.cards.create({ projectId, title: 'Card' })).id
      uploads.path = `/api/projects/${projectId}/cards/${uploads.cardId}/attachments`
    },
    card: () => ({ projectId, cardId: uploads.cardId }),
    send: (raw, headers) =>
      board.request('POST', uploads.path, {
        raw,
        headers: { 'content-type': 'multipart/form-data; boundary=xyz', ...headers },
      }),
    upload: (filename, body, type) => uploads.send(Buffer.concat([part('file', filename, body, type), end])),
    download: (id, headers) =>
      fetch(`${board.url}/api/attachments/${id}`, { headers: { authorization: `Bearer ${board.token}`, ...headers } }),
    filesOnDisk: () => readdirSync(join(board.dataDir, 'attachments')),
  }
  return uploads
}

/** One part of a multipart body of the boundary `xyz`; without a filename it is a text field. */
export const part = (name: string, filename: string | undefined, body: string | Buffer, type = 'text/html'): Buffer =>
  Buffer.concat([
    Buffer.from(
      `--xyz\r\nContent-Disposition: form-data; name="${name}"${filename === undefined ? '' : `; filename="${filename}"\r\nContent-Type: ${type}`}\r\n\r\n`,
    ),
    Buffer.from(body),
    Buffer.from('\r\n'),
  ])
export const end: Buffer = Buffer.from('--xyz--\r\n')

/** Status, code and the first wrong field of a failure. */
export const refusal = ({ status, body }: Reply): unknown[] => [status, body.error.code, body.error.details?.[0]?.path]
