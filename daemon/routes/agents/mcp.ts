import type { InferOutput } from 'valibot'
import { invalid } from '../../../src/contract/errors.ts'
import type { Contract } from '../../../src/contract/index.ts'
import type { McpMessage } from '../../../src/contract/agents/mcp.ts'
import { toolGroups, type ToolGroup } from '../../../src/contract/agents/tool.ts'
import type { Endpoint } from '../../http/callEndpoint.ts'
import type { Handlers } from '../../http/handlers.ts'
import { readQuery } from '../../http/validate.ts'
import type { ToolDependencies } from '../../mcp/tool.ts'
import type { Choice } from '../../mcp/toolset.ts'

type Message = InferOutput<typeof McpMessage>

/**
 * The protocol's package is loaded on demand.
 * @param endpoints all rows of the contract, after they are registered
 */
export function mcpRoutes(app: ToolDependencies, endpoints: readonly Endpoint[]): Handlers<Contract['mcp']> {
  const load = async () => {
    const [{ answerBatch }, { handleMcpMessage: answerMcp }, { rowToolsOf: toolsIn }] = await Promise.all([
      import('../../mcp/answerBatch.ts'),
      import('../../mcp/answer.ts'),
      import('../../mcp/rowTools.ts'),
    ])
    return { answerBatch, answerMcp, rows: toolsIn(endpoints) }
  }
  let loaded: ReturnType<typeof load> | undefined
  return {
    call: async (body, call) => {
      const choice = choiceIn(readQuery(call.request.url ?? ''))
      const { answerBatch, answerMcp, rows } = await (loaded ??= load())
      const answer = (message: Message) => answerMcp({ app, call, rows, choice }, withoutNulls(message))
      return Array.isArray(body) ? answerBatch(body, answer) : answer(body)
    },
  }
}

/** A message without parameters and arguments that are null. */
const withoutNulls = ({ params, ...message }: Message): Message => ({
  ...message,
  ...(params && { params: params.arguments === null ? { ...params, arguments: undefined } : params }),
})

/** @throws Problem VALIDATION_FAILED */
function choiceIn({ tools, readOnly = 'false', ...others }: Record<string, string>): Choice {
  const [other] = Object.keys(others)
  if (other !== undefined) throw invalid(other.slice(0, 100), 'is not a known field')
  if (!['true', 'false'].includes(readOnly)) throw invalid('readOnly', 'must be true or false')
  return { groups: groupsIn(tools), readOnly: readOnly === 'true' }
}

function groupsIn(tools: string | undefined): ToolGroup[] | undefined {
  return tools?.split(',').map(name => {
    const group = toolGroups.find(each => each === name)
    if (!group) throw invalid('tools', `must be a comma-separated list of ${toolGroups.join(', ')}`)
    return group
  })
}
