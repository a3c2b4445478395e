import { parseAst } from 'vitest/node'
import { changesOf, isNode, type Node } from './changes.ts'
import { isSql, sqlChanges } from './sql.ts'

/** One possible mistake in a source. `id` is the file and a number. */
export interface Mutant {
  id: string
  file: string
  line: number
  was: string
  is: string
}
/** A source with all its mutants, each inactive unless `globalThis.mutated(id)` is true. */
export interface Mutated {
  code: string
  mutants: Mutant[]
}

const verbatim =
  /^(Import|ExportAll|TS(?!AsExpression|NonNullExpression|SatisfiesExpression)|TaggedTemplate|MetaProperty)/
const notWalked = new Set([
  'typeAnnotation',
  'returnType',
  'typeParameters',
  'typeArguments',
  'superTypeArguments',
  'id',
  'label',
  'source',
  'attributes',
  'specifiers',
])
const chooses = new Set(['IfStatement', 'ConditionalExpression', 'WhileStatement', 'ForStatement'])
const blocks = new Set(['Program', 'BlockStatement', 'SwitchCase'])

/** Adds all mutants to a TypeScript source. */
export function mutate(file: string, source: string): Mutated {
  const mutants: Mutant[] = []
  const asleep = (at: number, was: string, is: string): string => {
    const id = `${file}#${mutants.length}`
    mutants.push({ id, file, line: source.slice(0, at).split('\n').length, was, is })
    return `globalThis.mutated(${JSON.stringify(id)})`
  }
  return { code: emit(parseAst(source, { lang: 'ts' }) as unknown as Node, { source, asleep }), mutants }
}

interface Writing {
  source: string
  asleep(at: number, was: string, is: string): string
}

/** The text of a node with its mutants and those of its children. `choices` are its possible replacements. */
function emit(node: Node, writing: Writing, choices: readonly string[] = [], isInChain = false): string {
  const text = writing.source.slice(node.start, node.end)
  if (verbatim.test(node.type)) return text
  const changes = isInChain ? [] : [...changesOf(node, writing.source), ...choices].filter(is => is !== text)
  const switches = changes.map(is => `${writing.asleep(node.start, text, is)} ? ${is} : `)
  const inner = node.type === 'TemplateLiteral' ? template(node, writing) : emitChildren(node, writing, isInChain)
  return switches.length > 0 ? `(${switches.join('')}${inner})` : inner
}

/** Changes SQL in its template parts, because a statement is built from several. */
function template(node: Node, writing: Writing): string {
  const [quasis, expressions] = [node.quasis as Array<{ value: { raw: string } }>, node.expressions as Node[]]
  const isStatement = isSql(writing.source.slice(node.start, node.end))
  return `\`${quasis
    .map(({ value: { raw } }, index) => {
      const part = expressions[index]
      return (isStatement ? changedSql(raw, node.start, writing) : raw) + (part ? `\${${emit(part, writing)}}` : '')
    })
    .join('')}\``
}

function changedSql(raw: string, start: number, { asleep }: Writing): string {
  let [text, from] = ['', 0]
  for (const { at, was, is } of sqlChanges(raw)) {
    if (at < from) continue
    const around = (middle: string) =>
      raw.slice(Math.max(0, at - 24), at) + middle + raw.slice(at + was.length, at + was.length + 24)
    text += `${raw.slice(from, at)}\${${asleep(start, around(was), around(is))} ? ${JSON.stringify(is)} : ${JSON.stringify(was)}}`
    from = at + was.length
  }
  return text + raw.slice(from)
}

function emitChildren(node: Node, writing: Writing, isInChain: boolean): string {
  let [text, at] = ['', node.start]
  for (const { field, child } of childrenOf(node)) {
    text += writing.source.slice(at, child.start) + emitChild(node, field, child, writing, isInChain)
    at = child.end
  }
  return text + writing.source.slice(at, node.end)
}

function emitChild(node: Node, field: string, child: Node, writing: Writing, isInChain: boolean): string {
  const { source, asleep } = writing
  if (field === 'test' && chooses.has(node.type))
    return emit(
      child,
      writing,
      node.type.endsWith('eStatement') || node.type === 'ForStatement'
        ? ['false']
        : ['true', 'false'].filter(choice => choice !== source.slice(child.start, child.end)),
    )
  if (isBody(node, field))
    return child.type === 'BlockStatement' ? bodyOf(node, child, writing) : emit(child, writing, ['undefined'])
  if (child.type === 'ThrowStatement')
    return `{ if (!${asleep(child.start, source.slice(child.start, child.end), '')}) ${emitChildren(child, writing, false)} }`
  if (child.type === 'ExpressionStatement') return statement(child, blocks.has(node.type), writing)
  const goesOn = (node.type === 'ChainExpression' || isInChain) && ['expression', 'object', 'callee'].includes(field)
  return emit(child, writing, [], goesOn)
}

const isBody = (node: Node, field: string): boolean => field === 'body' && /Function/.test(node.type)

/** A function that does nothing. */
function bodyOf(owner: Node, body: Node, writing: Writing): string {
  const inner = emitChildren(body, writing, false)
  if ((body.body as Node[]).length === 0 || owner.isConstructor === true) return inner
  return `{ if (${writing.asleep(body.start, writing.source.slice(body.start, body.end), '{}')}) return;${inner.slice(1)}`
}

/** A line without effect. Without semicolons, a bracket would continue the previous line. */
function statement(child: Node, isInBlock: boolean, writing: Writing): string {
  const expression = child.expression as Node
  const does = /^(Call|Await|Assignment|Update)Expression$/.test(expression.type)
  const text =
    writing.source.slice(child.start, expression.start) +
    emit(expression, writing, does ? ['undefined'] : []) +
    writing.source.slice(expression.end, child.end)
  return isInBlock && text.startsWith('(') ? `;${text}` : text
}

function childrenOf(node: Node): Array<{ field: string; child: Node }> {
  const isSet = (field: string) =>
    (node.type === 'AssignmentExpression' && field === 'left') ||
    (node.type === 'UpdateExpression' && field === 'argument') ||
    (field === 'key' && node.computed !== true) ||
    (field === 'property' && node.computed !== true)
  const found = Object.entries(node)
    .filter(([field]) => !notWalked.has(field) && !isSet(field))
    .flatMap(([field, value]) =>
      (Array.isArray(value) ? value : [value]).filter(isNode).map(child => ({ field, child })),
    )
  if (node.type === 'MethodDefinition' && node.kind === 'constructor') (node.value as Node).isConstructor = true
  return found.sort((a, b) => a.child.start - b.child.start)
}
