import type { App } from '../../src/app.ts'
import type { Contract } from '../../src/contract/index.ts'
import type { Handlers } from '../handlers.ts'

/** The protocol's package is loaded when it is first asked for. */
export const mcpRoutes = (app: App): Handlers<Contract['mcp']> => ({
  call: async (message, { caller, request }) => (await import('../mcp/answer.ts')).answerMcp(app, caller, message, request.headers['mcp-protocol-version'] as string | undefined),
})
