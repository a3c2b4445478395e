import * as v from 'valibot'
import { Count, Id, Time } from '../fields.ts'
import { ofCard } from '../notFound.ts'
import { del, get, member, post, viewer } from '../route.ts'

export const maxPreviews = 20
export const PreviewStatus = v.picklist(['off', 'starting', 'running', 'failed'])
export type PreviewStatus = v.InferOutput<typeof PreviewStatus>
/**
 * The server of a card's worktree. It runs until `endsAt`, which each start postpones; `url`, on the server's machine, is set while the
 * program accepts connections; a ticket opens it. `reason` explains why it failed. After a signal, `exitCode` is 128 plus the number of the
 * signal, as in a shell.
 */
export const PreviewState = v.object({
  cardId: Id,
  status: PreviewStatus,
  url: v.nullable(v.string()),
  port: v.nullable(Count),
  startedAt: v.nullable(Time),
  endsAt: v.nullable(Time),
  exitCode: v.nullable(v.number()),
  reason: v.nullable(v.string()),
})
export type PreviewState = v.InferOutput<typeof PreviewState>
/** `output` is the last 8 KiB of the preview's output. */
export const Preview = v.object({ ...PreviewState.entries, output: v.string() })
export type Preview = v.InferOutput<typeof Preview>

export const previews = {
  get: get('/api/projects/{projectId}/cards/{cardId}/preview', {
    notFound: ofCard,
    at: 'machine',
    who: viewer('agents.read'),
    summary: 'Get the preview of a card',
    output: Preview,
  }),
  start: post('/api/projects/{projectId}/cards/{cardId}/preview', {
    notFound: ofCard,
    fails: ['CONFLICT'],
    audited: { target: 'card' },
    at: 'machine',
    who: member('scripts.run'),
    summary: "Start or extend a card's preview, which runs the project's preview command",
    details: 'The preview stops 2 minutes after the last call.',
    output: Preview,
    emits: ['preview.updated'],
  }),
  createTicket: post('/api/projects/{projectId}/cards/{cardId}/preview/ticket', {
    notFound: ofCard,
    fails: ['CONFLICT'],
    audited: { target: 'card' },
    at: 'machine',
    who: viewer('agents.read'),
    summary: "Create a URL that opens a card's preview in a browser",
    details: 'The URL works once, within 2 minutes.',
    output: v.object({ url: v.string(), expiresAt: Time }),
    idempotent: false,
    status: 201,
  }),
  stop: del('/api/projects/{projectId}/cards/{cardId}/preview', {
    notFound: ofCard,
    at: 'machine',
    who: member('scripts.run'),
    summary: "Stop a card's preview with all its processes",
    emits: ['preview.updated'],
  }),
}
