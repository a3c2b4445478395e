import type { Problem } from '../../src/contract/errors.ts'
import type { StoredEvent } from '../../src/events/outbox.ts'

/** A message on the wire (RFC 6455, 5.2: text, unmasked), created once for all sockets. */
export type Frame = Buffer

/** An event's frame. Its data is already JSON text. */
export const eventFrame = ({ type, data, seq, projectId, at }: StoredEvent): Frame =>
  frameOf(
    `{"type":"${type}","data":${data},"seq":${seq},"projectId":${projectId === null ? 'null' : `"${projectId}"`},"at":"${at}"}`,
  )

/** The message that the client follows the project: every event up to `seq` was sent, and later ones follow. */
export const subscribedFrame = (projectId: number, seq: number): Frame =>
  answerFrame('subscribed', { projectId: String(projectId), seq })

/** The message that missed events were pruned, so that the client must read the project again. Events after `seq` follow. */
export const resyncFrame = (projectId: number, seq: number, at: string): Frame =>
  frameOf(
    JSON.stringify({
      type: 'resync',
      data: { projectId: String(projectId), seq },
      seq,
      projectId: String(projectId),
      at,
    }),
  )

/** An error, with its project if there is one. */
export const errorFrame = ({ code, message }: Problem, projectId?: number): Frame =>
  answerFrame('error', { code, message, ...(projectId !== undefined && { projectId: String(projectId) }) })

export const pongFrame: Frame = answerFrame('pong', {})

function answerFrame(type: string, data: object): Frame {
  return frameOf(JSON.stringify({ type, data }))
}

/** A text message's frame. */
export function frameOf(text: string): Frame {
  const length = Buffer.byteLength(text)
  const headLength = length < 126 ? 2 : length < 65_536 ? 4 : 10
  const frame = Buffer.allocUnsafe(headLength + length)
  frame[0] = 0x81
  frame[1] = length < 126 ? length : length < 65_536 ? 126 : 127
  if (headLength === 4) frame.writeUInt16BE(length, 2)
  if (headLength === 10) frame.writeBigUInt64BE(BigInt(length), 2)
  frame.write(text, headLength)
  return frame
}
