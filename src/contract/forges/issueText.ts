import type { BaseIssue } from 'valibot'

/** Describes an invalid value for users: the accepted values, and never the value itself. */
export function issueText(issue: BaseIssue<unknown>): string {
  // The board's own messages do not begin with "Invalid", as the library's do.
  if (!issue.message.startsWith('Invalid')) return issue.message
  if (issue.kind !== 'schema') return ruleText(issue)
  if (issue.type === 'strict_object' && issue.expected === 'never') return 'is not a known field'
  if (issue.type.endsWith('object') && issue.expected?.startsWith('"')) return 'is required'
  return `must be ${acceptedText(issue.expected)}`
}

const rules: Record<string, (requirement: unknown, of: string) => string> = {
  integer: () => 'must be a whole number',
  safe_integer: () => 'must be a whole number',
  finite: () => 'must be a number',
  min_value: min => `must be at least ${String(min)}`,
  max_value: max => `must be at most ${String(max)}`,
  min_length: (min, of) => `must have at least ${String(min)} ${of}`,
  max_length: (max, of) => `must have at most ${String(max)} ${of}`,
  length: (wanted, of) => `must have ${String(wanted)} ${of}`,
  non_empty: () => 'must not be empty',
  url: () => 'must be a URL',
  email: () => 'must be an email address',
  iso_timestamp: () => 'must be a time like 2026-01-31T12:00:00.000Z',
  iso_date: () => 'must be a date like 2026-01-31',
}

function ruleText({ type, requirement, input }: BaseIssue<unknown>): string {
  return rules[type]?.(requirement, Array.isArray(input) ? 'items' : 'characters') ?? 'does not have the right form'
}

/** The library writes the accepted values like a type: `(Object | "kanban" | null)`. */
function acceptedText(expected: string | null): string {
  const parts = (expected ?? '').match(/"[^"]*"|[^\s|()&]+/g) ?? []
  const words = [...new Set(parts.flatMap(part => typeWords[part] ?? literalText(part)))]
  if (words.length === 0) return 'of another kind'
  return words.length === 1 ? words[0]! : `${words.slice(0, -1).join(', ')} or ${words.at(-1)!}`
}

const literalText = (part: string): string => (part.startsWith('"') ? part.slice(1, -1) : part)

const typeWords: Record<string, string | string[]> = {
  string: 'text',
  number: 'a number',
  boolean: 'true or false',
  Array: 'a list',
  Object: 'an object',
  unknown: 'any value',
  undefined: [],
}
