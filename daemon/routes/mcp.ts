import type { App } from '../../src/app.ts'
import { contract, type Contract } from '../../src/contract/index.ts'
import type { Handlers } from '../http/handlers.ts'
import { forward } from '../peers/forward.ts'

/** The protocol's package is loaded on demand. */
export const mcpRoutes = (app: App): Handlers<Contract['mcp']> => ({
  call: async (message, call) => {
    const { handleMcpMessage: answerMcp, projectOfMessage: placeOf } = await import('../mcp/answer.ts')
    const { at, projectId } = await placeOf(app, call.caller, message)
    const passed =
      projectId === undefined
        ? undefined
        : await forward(app, { ...contract.mcp.call, at }, call, { projectId }, message)
    return passed ?? answerMcp(app, call, message, call.request.headers['mcp-protocol-version'] as string | undefined)
  },
})
