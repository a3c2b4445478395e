import * as v from 'valibot'
import { text } from './fields.ts'
import { anyone, get, localOrSuper } from './route.ts'

const Status = v.object({ status: v.literal('ok'), version: v.string() })

export const server = {
  health: get('/api/health', { who: anyone, summary: 'Tell that the server answers', output: Status }),
  ready: get('/api/ready', { who: anyone, summary: 'Tell that the database takes writes', output: v.object({ status: v.literal('ok') }) }),
  metrics: get('/metrics', { who: localOrSuper, summary: 'Figures about this server in Prometheus\'s text format', transfer: 'raw' }),
  home: get('/', { who: anyone, summary: 'A small page about this server', transfer: 'raw' }),
  openapi: get('/api/openapi.json', { who: anyone, summary: 'This API as an OpenAPI 3.1 document', transfer: 'raw' }),
  docs: get('/api/docs', { who: anyone, summary: 'This API as a page', transfer: 'raw' }),
  socket: get('/api/ws', { who: anyone, summary: 'Upgrade to the WebSocket of live events', input: v.strictObject({ token: v.optional(text(1, 500)) }), transfer: 'raw' }),
}
