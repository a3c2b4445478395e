import type { Choice } from '../link/agentLink.ts'

/** A request by which a mode or a model is chosen. */
export interface ChoiceRequest {
  method: string
  params: Record<string, unknown>
}
export interface Choices {
  current: string | null
  offered: readonly Choice[]
  request(id: string): ChoiceRequest
}

type Json = Record<string, unknown>
const mostOffered = 200
const record = (value: unknown): Json => (typeof value === 'object' && value !== null ? (value as Json) : {})
const list = (value: unknown): Json[] => (Array.isArray(value) ? value.slice(0, mostOffered).map(record) : [])
const words = (value: unknown): string | null =>
  typeof value === 'string' && value.length > 0 && value.length <= 1000 ? value : null
const choices = (items: Json[], key: string): Choice[] =>
  items.flatMap(item => {
    const id = words(item[key])
    return id ? [{ id, name: words(item.name) ?? id }] : []
  })

/** The modes or models that an agent offers with a session: as configuration options, or where older agents put them. */
export function readChoices(session: unknown, category: 'mode' | 'model'): Choices {
  const answer = record(session)
  const option = list(answer.configOptions).find(each => each.category === category && each.type === 'select')
  if (option) {
    const options = list(option.options).flatMap(each => (Array.isArray(each.options) ? list(each.options) : [each]))
    return {
      current: words(option.currentValue),
      offered: choices(options, 'value'),
      request: value => ({ method: 'session/set_config_option', params: { configId: option.id, value } }),
    }
  }
  if (category === 'mode') {
    const modes = record(answer.modes)
    return {
      current: words(modes.currentModeId),
      offered: choices(list(modes.availableModes), 'id'),
      request: modeId => ({ method: 'session/set_mode', params: { modeId } }),
    }
  }
  const models = record(answer.models)
  return {
    current: words(models.currentModelId),
    offered: choices(list(models.availableModels), 'modelId'),
    request: modelId => ({ method: 'session/set_model', params: { modelId } }),
  }
}
