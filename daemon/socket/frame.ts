import type { Problem } from '../../src/contract/errors.ts'
import type { StoredEvent } from '../../src/events/outbox.ts'

/** A message to a client, ready to be sent to any number of sockets. */
export type Frame = Buffer

/** An event as clients get it. Its data is JSON text already. */
export const eventFrame = ({ type, data, seq, projectId, at }: StoredEvent): Frame =>
  Buffer.from(`{"type":"${type}","data":${data},"seq":${seq},"projectId":${projectId === null ? 'null' : `"${projectId}"`},"at":"${at}"}`)

/** The client follows the project: it has got every event up to `seq`, and gets each later one. */
export const subscribedFrame = (projectId: number, seq: number): Frame => answer('subscribed', { projectId: String(projectId), seq })

/** Events are gone that the client has not seen: it must read the project anew. It gets each event after `seq`. */
export const resyncFrame = (projectId: number, seq: number, at: string): Frame =>
  Buffer.from(JSON.stringify({ type: 'resync', data: { projectId: String(projectId), seq }, seq, projectId: String(projectId), at }))

/** A refusal, with the project that it is about if there is one. */
export const errorFrame = ({ code, message }: Problem, projectId?: number): Frame =>
  answer('error', { code, message, ...(projectId !== undefined && { projectId: String(projectId) }) })

export const pongFrame: Frame = answer('pong', {})

function answer(type: string, data: object): Frame { return Buffer.from(JSON.stringify({ type, data })) }
