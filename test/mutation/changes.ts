import { isSql, sqlChanges } from './sql.ts'

/** A node of the parser's tree: ESTree with TypeScript. */
export interface Node {
  type: string
  start: number
  end: number
  [field: string]: unknown
}
export const isNode = (value: unknown): value is Node =>
  typeof value === 'object' &&
  value !== null &&
  typeof (value as Node).type === 'string' &&
  typeof (value as Node).start === 'number'

const otherOperators: Record<string, readonly string[]> = {
  '===': ['!=='],
  '!==': ['==='],
  '<': ['<=', '>='],
  '<=': ['<', '>'],
  '>': ['>=', '<='],
  '>=': ['>', '<'],
  '+': ['-'],
  '-': ['+'],
  '*': ['/'],
  '/': ['*'],
  '%': ['*'],
  '&&': ['||'],
  '||': ['&&'],
  '??': ['&&'],
}
const otherAssignments: Record<string, string> = { '+=': '-=', '-=': '+=', '++': '--', '--': '++', '??=': '=' }
const otherMethods: Record<string, string> = {
  some: 'every',
  every: 'some',
  min: 'max',
  max: 'min',
  startsWith: 'endsWith',
  endsWith: 'startsWith',
}
const omittedMethods = new Set([
  'filter',
  'slice',
  'sort',
  'reverse',
  'trim',
  'toLowerCase',
  'toUpperCase',
  'toSorted',
  'toReversed',
  'flat',
])

/** The faulty replacements of an expression. Texts for users are left unchanged. */
export function changesOf(node: Node, source: string): string[] {
  const text = source.slice(node.start, node.end)
  switch (node.type) {
    case 'BinaryExpression':
    case 'LogicalExpression':
      return operators(node, source)
    case 'UnaryExpression':
      return node.operator === '!' ? [text.slice(1)] : []
    case 'UpdateExpression':
      return [text.replace(String(node.operator), otherAssignments[String(node.operator)]!)]
    case 'AssignmentExpression':
      return Object.hasOwn(otherAssignments, String(node.operator))
        ? [replaced(node, otherAssignments[String(node.operator)]!, source)]
        : []
    case 'Literal':
      return literal(node.value, text)
    case 'TemplateLiteral':
      return isSql(text) || /\s/.test(text.replace(/\$\{[^}]*\}/g, '')) ? [] : ['""']
    case 'ArrayExpression':
      return (node.elements as unknown[]).length > 0 ? ['[]'] : []
    case 'ObjectExpression':
      return (node.properties as unknown[]).length > 0 ? ['{}'] : []
    case 'ChainExpression':
      return [text.replace(/\?\.(?=[([])/g, '').replaceAll('?.', '.')]
    case 'CallExpression':
      return call(node, source)
    default:
      return []
  }
}

function operators(node: Node, source: string): string[] {
  const joinsText =
    node.operator === '+' &&
    [node.left, node.right].some(
      side => isNode(side) && (side.type === 'TemplateLiteral' || typeof side.value === 'string'),
    )
  return joinsText ? [] : (otherOperators[String(node.operator)] ?? []).map(other => replaced(node, other, source))
}

/** Only brackets and the operator are between the two sides. */
function replaced(node: Node, other: string, source: string): string {
  const operator = String(node.operator)
  const at = source.indexOf(operator, (node.left as Node).end)
  const before = source.slice(node.start, at)
  const after = source.slice(at + operator.length, node.end)
  return node.type === 'AssignmentExpression' ? before + other + after : `(${before}) ${other} (${after})`
}

function literal(value: unknown, text: string): string[] {
  if (typeof value === 'boolean') return [String(!value)]
  if (value === 0 || value === 1) return [String(1 - value)]
  if (typeof value !== 'string') return []
  if (isSql(text))
    return sqlChanges(text).map(({ at, was, is }) => text.slice(0, at) + is + text.slice(at + was.length))
  return /\s/.test(value) ? [] : [value === '' ? '"mutant"' : '""']
}

function call(node: Node, source: string): string[] {
  const callee = node.callee as Node
  if (callee.type !== 'MemberExpression' || callee.computed === true) return []
  const [object, property] = [callee.object as Node, callee.property as Node]
  const name = String(property.name)
  if (omittedMethods.has(name)) return [source.slice(callee.start, endWithBrackets(object, property, source))]
  return Object.hasOwn(otherMethods, name)
    ? [source.slice(node.start, property.start) + otherMethods[name] + source.slice(property.end, node.end)]
    : []
}

const endWithBrackets = (object: Node, property: Node, source: string): number =>
  object.end + source.slice(object.end, property.start).lastIndexOf('.')
