import type { CreateElicitationRequest, CreateElicitationResponse } from '@agentclientprotocol/sdk'
import type { PermissionOption, PermissionRequest } from '../link/agentLink.ts'
import { toPlainLine } from '../link/failureReasons.ts'
import { asObject, type Json } from '../link/json.ts'

const maxFields = 10
const maxOptions = 20
const maxTextLength = 4000
/** The option that leaves the decision to the agent. */
const decline: PermissionOption = { id: '0', name: 'Let the agent decide', kind: 'reject_once' }

/** A person's answer to a field: an option or a text. Null if the person declined. */
export type FieldAnswer = { optionId: string } | { text: string } | null
export type FormQuestion = Omit<PermissionRequest, 'id'>
type Value = string | number | boolean | string[]
interface Choice {
  value: string | boolean
  name: string
}
interface Field {
  name: string
  isRequired: boolean
  question: FormQuestion
  /** The value of an answer, or the rule that the answer breaks. */
  read(answer: Exclude<FieldAnswer, null>): { value: Value } | { rule: string }
}

/**
 * Requests the fields of an agent's form one after another. `ask` resolves to undefined once no user can answer. If an answer
 * breaks a rule of its field, the field is requested again.
 */
export async function fillForm(
  request: CreateElicitationRequest,
  ask: (question: FormQuestion) => Promise<FieldAnswer | undefined>,
): Promise<CreateElicitationResponse> {
  const fields = fieldsOf(request as unknown as Json)
  if (!fields) return { action: 'cancel' }
  const content: Record<string, Value> = {}
  for (const { name, isRequired, question, read } of fields) {
    let rule: string | undefined
    do {
      const answer = await ask(rule === undefined ? question : { ...question, title: `${question.title} (${rule})` })
      if (answer === undefined) return { action: 'cancel' }
      if (answer === null && isRequired) return { action: 'decline' }
      const given = answer && read(answer)
      if (given && 'value' in given) content[name] = given.value
      rule = given && 'rule' in given ? given.rule : undefined
    } while (rule !== undefined)
  }
  return { action: 'accept', content }
}

/** The fields of a form. Undefined if the request has another mode, or requires a field of an unsupported type. */
function fieldsOf({ mode, message, toolCallId, requestedSchema }: Json): Field[] | undefined {
  const { properties, required } = asObject(requestedSchema)
  const names = Object.keys(asObject(properties))
  const isRequired = (name: string) => Array.isArray(required) && required.includes(name)
  if (mode !== 'form' || names.length === 0 || names.length > maxFields) return undefined
  const fields: Field[] = []
  for (const name of names) {
    const schema = asObject(asObject(properties)[name])
    const about = [
      textOf(message),
      ...(names.length > 1 ? [textOf(schema.title) || name] : []),
      textOf(schema.description),
    ]
    const texts = about.filter((text, at) => text !== '' && about.indexOf(text) === at)
    const form = formOf(schema)
    if (form)
      fields.push({ name, isRequired: isRequired(name), ...form, question: questionOf(texts, toolCallId, form) })
    else if (isRequired(name)) return undefined
  }
  return fields
}

const questionOf = (
  texts: readonly string[],
  toolCallId: unknown,
  { choices, takesText }: Pick<Form, 'choices' | 'takesText'>,
): FormQuestion => {
  const title = toPlainLine(texts.join(': '))
  const whole = texts.join('\n\n').slice(0, maxTextLength)
  return {
    toolCallId: typeof toolCallId === 'string' ? toolCallId : '',
    title,
    kind: 'question',
    options: [
      ...choices.map(({ name }, at) => ({ id: String(at + 1), name, kind: 'allow_once' })),
      ...(takesText ? [] : [decline]),
    ],
    takesText,
    command: null,
    paths: [],
    plan: whole === title ? null : whole,
    about: 'question',
  }
}

interface Form {
  choices: readonly Choice[]
  takesText: boolean
  read: Field['read']
}

function formOf(schema: Json): Form | undefined {
  const { type } = schema
  if (type === 'boolean')
    return choiceForm([
      { value: true, name: 'Yes' },
      { value: false, name: 'No' },
    ])
  if (type === 'array') return listForm(choicesOf(asObject(schema.items)), schema)
  if (type === 'number' || type === 'integer') return textForm(text => numberIn(text, schema))
  if (type !== 'string') return undefined
  const choices = choicesOf(schema)
  return choices.length > 0 ? choiceForm(choices) : textForm(text => stringIn(text, schema))
}

const textForm = (parse: (text: string) => { value: Value } | { rule: string }): Form => ({
  choices: [],
  takesText: true,
  read: answer => parse('text' in answer ? answer.text.trim() : ''),
})

const choiceForm = (choices: readonly Choice[]): Form => ({
  choices,
  takesText: false,
  read: answer => {
    const chosen = 'optionId' in answer ? choices[Number(answer.optionId) - 1] : undefined
    return chosen ? { value: chosen.value } : { rule: 'choose an option' }
  },
})

/** A field that accepts several choices. The answer lists them with commas. */
function listForm(choices: readonly Choice[], { minItems, maxItems }: Json): Form | undefined {
  if (choices.length === 0) return undefined
  const min = typeof minItems === 'number' ? minItems : 0
  const max = typeof maxItems === 'number' ? maxItems : Infinity
  const findChoice = (word: string) => choices.find(({ name, value }) => name === word || value === word)
  return {
    choices,
    takesText: true,
    read: answer => {
      const found =
        'optionId' in answer
          ? [choices[Number(answer.optionId) - 1]]
          : (findChoice(answer.text.trim()) ? [answer.text] : answer.text.split(',')).map(word =>
              findChoice(word.trim()),
            )
      const values = [...new Set(found.map(choice => choice?.value))]
      if (values.includes(undefined)) return { rule: 'name options, with commas between them' }
      if (values.length < min || values.length > max)
        return { rule: `name ${min} to ${Math.min(max, choices.length)} options` }
      return { value: values as string[] }
    },
  }
}

function stringIn(text: string, { minLength, maxLength }: Json): { value: Value } | { rule: string } {
  if (typeof minLength === 'number' && text.length < minLength) return { rule: `at least ${minLength} characters` }
  if (typeof maxLength === 'number' && text.length > maxLength) return { rule: `at most ${maxLength} characters` }
  return { value: text }
}

function numberIn(text: string, { type, minimum, maximum }: Json): { value: Value } | { rule: string } {
  const value = Number(text)
  const isNumber = text !== '' && Number.isFinite(value)
  if (!isNumber || (type === 'integer' && !Number.isInteger(value)))
    return { rule: type === 'integer' ? 'a whole number' : 'a number' }
  if (typeof minimum === 'number' && value < minimum) return { rule: `at least ${minimum}` }
  if (typeof maximum === 'number' && value > maximum) return { rule: `at most ${maximum}` }
  return { value }
}

/** The choices of a field. Choices with titles come as `oneOf` or `anyOf`. */
function choicesOf({ enum: values, oneOf, anyOf }: Json): Choice[] {
  const titled = [oneOf, anyOf].find(Array.isArray) as unknown[] | undefined
  const all = titled
    ? titled.map(asObject)
    : (Array.isArray(values) ? values : []).map((value): Json => ({ const: value }))
  return all.slice(0, maxOptions).flatMap(({ const: value, title }) => {
    if (typeof value !== 'string') return []
    return [{ value, name: toPlainLine(textOf(title) || value) || value }]
  })
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value.trim().slice(0, maxTextLength) : '')
