import type { SessionOption } from '../link/agentLink.ts'
import { asObject, type Json } from '../link/json.ts'

/** The request that sets a mode or a model. */
interface SetOptionRequest {
  method: string
  params: Record<string, unknown>
}
export interface SessionOptions {
  current: string | null
  offered: readonly SessionOption[]
  request(id: string): SetOptionRequest
}

const maxOptions = 200
const list = (value: unknown): Json[] => (Array.isArray(value) ? value.slice(0, maxOptions).map(asObject) : [])
const shortText = (value: unknown): string | null =>
  typeof value === 'string' && value.length > 0 && value.length <= 1000 ? value : null
const parseOptions = (items: Json[], key: string): SessionOption[] =>
  items.flatMap(item => {
    const id = shortText(item[key])
    return id ? [{ id, name: shortText(item.name) ?? id }] : []
  })

/** The protocol's names of the options. The effort is called `thought_level` there. */
const categories = { mode: 'mode', model: 'model', effort: 'thought_level' } as const

/** The modes, models or efforts that an agent offers with a session: as configuration options, or in the fields of older agents. */
export function readOptions(session: unknown, what: keyof typeof categories): SessionOptions {
  const answer = asObject(session)
  const option = list(answer.configOptions).find(each => each.category === categories[what] && each.type === 'select')
  if (option) {
    const options = list(option.options).flatMap(each => (Array.isArray(each.options) ? list(each.options) : [each]))
    return {
      current: shortText(option.currentValue),
      offered: parseOptions(options, 'value'),
      request: value => ({ method: 'session/set_config_option', params: { configId: option.id, value } }),
    }
  }
  if (what === 'mode') {
    const modes = asObject(answer.modes)
    return {
      current: shortText(modes.currentModeId),
      offered: parseOptions(list(modes.availableModes), 'id'),
      request: modeId => ({ method: 'session/set_mode', params: { modeId } }),
    }
  }
  if (what === 'effort') return { current: null, offered: [], request: () => ({ method: '', params: {} }) }
  const models = asObject(answer.models)
  return {
    current: shortText(models.currentModelId),
    offered: parseOptions(list(models.availableModels), 'modelId'),
    request: modelId => ({ method: 'session/set_model', params: { modelId } }),
  }
}
