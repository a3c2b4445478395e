import { randomBytes } from 'node:crypto'

/** The header webhook-id of a new message: the same at each attempt, so that a receiver knows what it has had already. */
export const newMessageId = (): string => `msg_${randomBytes(16).toString('base64url')}`

/** What a message tells. `data` is JSON text; an event of a project has a seq, by which a receiver can put them in order. */
export interface WebhookMessage {
  type: string
  timestamp: string
  projectId?: number
  seq?: number
  data: string
}

/** The body of a message (Standard Webhooks 1.0: type, timestamp, data), as it is signed. */
export const bodyOf = ({ type, timestamp, projectId, seq, data }: WebhookMessage): string =>
  `${JSON.stringify({ type, timestamp, ...(projectId !== undefined && { projectId: String(projectId) }), ...(seq !== undefined && { seq }) }).slice(0, -1)},"data":${data}}`
