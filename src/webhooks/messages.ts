import { randomBytes } from 'node:crypto'

/** The `webhook-id` header of a new message. All attempts share it, so that a receiver can drop duplicates. */
export const newMessageId = (): string => `msg_${randomBytes(16).toString('base64url')}`

/** A message to a webhook. `data` is JSON text. Events of a project have a `seq`, by which a receiver can sort them. */
export interface WebhookMessage {
  type: string
  timestamp: string
  projectId?: number
  seq?: number
  data: string
}

/** The body of a message (Standard Webhooks 1.0: type, timestamp, data), verbatim for the signature. */
export const bodyOf = ({ type, timestamp, projectId, seq, data }: WebhookMessage): string =>
  `${JSON.stringify({ type, timestamp, ...(projectId !== undefined && { projectId: String(projectId) }), ...(seq !== undefined && { seq }) }).slice(0, -1)},"data":${data}}`
