import * as v from 'valibot'
import { text, Time } from '../fields.ts'
import { admin, anyone, get, localOrSuper } from '../route.ts'

/** `version` is missing for a request with a foreign Host, because another site's page can have caused it. */
const Status = v.object({ status: v.literal('ok'), version: v.optional(v.string()) })

/** A daemon on the board's database: its machine, its address for the others, and its work for all of them. */
export const Daemon = v.object({
  id: v.string(),
  machine: v.string(),
  url: v.string(),
  version: v.string(),
  startedAt: Time,
  seenSecsAgo: v.number(),
  isThere: v.boolean(),
  isThis: v.boolean(),
  duties: v.array(v.picklist(['machine', 'board'])),
})

export const server = {
  health: get('/api/health', {
    who: anyone,
    anyHost: true,
    summary: 'Tell that the server answers',
    output: Status,
  }),
  ready: get('/api/ready', {
    anyHost: true,
    fails: ['DATABASE_DAMAGED'],
    who: anyone,
    summary: 'Tell that the database takes writes',
    output: v.object({ status: v.literal('ok') }),
  }),
  daemons: get('/api/daemons', {
    who: admin,
    summary: 'List the daemons that share this board, and what each does for all; none where the database is a file',
    output: v.array(Daemon),
  }),
  metrics: get('/metrics', {
    who: localOrSuper,
    summary: "Figures about this server in Prometheus's text format",
    transfer: 'raw',
    answers: { 200: { description: 'The figures', type: 'text/plain' } },
  }),
  home: get('/', {
    who: anyone,
    summary: 'The board in a browser',
    fails: ['NOT_FOUND'],
    transfer: 'raw',
    answers: { 200: { description: 'A page', type: 'text/html' }, 304: { description: 'The client has the page' } },
  }),
  asset: get('/assets/{filename}', {
    who: anyone,
    notFound: { filename: 'NOT_FOUND' },
    summary: 'A script, style or picture of that page, under a name that changes with its content',
    transfer: 'raw',
    answers: { 200: { description: 'The file', type: '*/*' }, 304: { description: 'The client has the file' } },
  }),
  openapi: get('/api/openapi.json', {
    who: anyone,
    summary: 'This API as an OpenAPI 3.1 document',
    transfer: 'raw',
    answers: {
      200: { description: 'The document', type: 'application/json' },
      304: { description: 'The client has the document' },
    },
  }),
  docs: get('/api/docs', {
    who: anyone,
    summary: 'This API as a page',
    transfer: 'raw',
    answers: { 200: { description: 'A page', type: 'text/html' }, 304: { description: 'The client has the page' } },
  }),
  documentation: get('/docs', {
    who: anyone,
    summary: 'The documentation as pages, or the sections that contain all words of a query',
    fails: ['NOT_FOUND'],
    input: v.strictObject({ q: v.optional(text(0, 200)) }),
    transfer: 'raw',
    answers: { 200: { description: 'A page', type: 'text/html' } },
  }),
  documentationPage: get('/docs/{filename}', {
    who: anyone,
    notFound: { filename: 'NOT_FOUND' },
    summary: 'A page of the documentation',
    transfer: 'raw',
    answers: { 200: { description: 'A page', type: 'text/html' } },
  }),
  socket: get('/api/ws', {
    who: anyone,
    fails: ['NOT_FOUND'],
    summary: 'Upgrade to the WebSocket of live events',
    input: v.strictObject({ token: v.optional(text(1, 500)) }),
    transfer: 'raw',
    answers: { 101: { description: 'The WebSocket is open' } },
  }),
}
