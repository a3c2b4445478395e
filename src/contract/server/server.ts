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
    summary: 'Check that the server is running',
    output: Status,
  }),
  ready: get('/api/ready', {
    anyHost: true,
    fails: ['DATABASE_DAMAGED'],
    who: anyone,
    summary: 'Check that the database accepts writes',
    output: v.object({ status: v.literal('ok') }),
  }),
  daemons: get('/api/daemons', {
    who: admin,
    summary: "List the daemons that share the board's database, with their duties",
    details: 'Empty if the database is a file.',
    output: v.array(Daemon),
  }),
  metrics: get('/metrics', {
    who: localOrSuper,
    summary: "Get the server's metrics in the Prometheus text format",
    transfer: 'raw',
    answers: { 200: { description: 'The metrics', type: 'text/plain' } },
  }),
  home: get('/', {
    who: anyone,
    summary: "Get the board's web page",
    fails: ['NOT_FOUND'],
    transfer: 'raw',
    answers: { 200: { description: 'A page', type: 'text/html' }, 304: { description: 'The page is unchanged' } },
  }),
  asset: get('/assets/{filename}', {
    who: anyone,
    notFound: { filename: 'NOT_FOUND' },
    summary: 'Get a script, stylesheet or image of the web page',
    details: 'Its file name contains a hash of its content.',
    transfer: 'raw',
    answers: { 200: { description: 'The file', type: '*/*' }, 304: { description: 'The file is unchanged' } },
  }),
  openapi: get('/api/openapi.json', {
    who: anyone,
    summary: 'Get the OpenAPI 3.1 document of this API',
    transfer: 'raw',
    answers: {
      200: { description: 'The document', type: 'application/json' },
      304: { description: 'The document is unchanged' },
    },
  }),
  docs: get('/api/docs', {
    who: anyone,
    summary: 'Get the API reference as a web page',
    transfer: 'raw',
    answers: { 200: { description: 'A page', type: 'text/html' }, 304: { description: 'The page is unchanged' } },
  }),
  documentation: get('/docs', {
    who: anyone,
    summary: "Get the documentation's home page, or the sections that contain all words of q",
    fails: ['NOT_FOUND'],
    input: v.strictObject({ q: v.optional(text(0, 200)) }),
    transfer: 'raw',
    answers: { 200: { description: 'A page', type: 'text/html' } },
  }),
  documentationPage: get('/docs/{filename}', {
    who: anyone,
    notFound: { filename: 'NOT_FOUND' },
    summary: 'Get a page of the documentation',
    transfer: 'raw',
    answers: { 200: { description: 'A page', type: 'text/html' } },
  }),
  socket: get('/api/ws', {
    who: anyone,
    fails: ['NOT_FOUND'],
    summary: 'Open a WebSocket for live events',
    input: v.strictObject({ token: v.optional(text(1, 500)) }),
    transfer: 'raw',
    answers: { 101: { description: 'The WebSocket is open' } },
  }),
}
