import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'

/** The folder of the repository: tests and scripts run there. */
export const root = process.cwd()

/** The layer of each folder. Imports go to a lower or the same layer. */
export const floors: Record<string, number> = {
  'src/contract': 1,
  'src/async': 1,
  'src/config': 1,
  'src/system': 1,
  'src/recurrence': 1,
  'src/client': 2,
  'src/boardModel': 2,
  'src/store': 2,
  'src/events': 2,
  'src/git': 2,
  'src/process': 2,
  'src/sandbox': 2,
  'src/worktrees': 2,
  'src/egress': 2,
  'src/forge': 2,
  'src/views': 2,
  'src/domain': 3,
  'src/identity': 3,
  cli: 3,
  'src/files': 4,
  'src/cardWork': 4,
  'src/agents': 4,
  'src/agents/link': 4,
  'src/agents/acp': 4,
  'src/agents/providers': 4,
  'src/agents/pricing': 4,
  'src/agents/transcript': 4,
  'src/agents/sessions': 4,
  'src/webhooks': 4,
  'src/scripts': 4,
  'src/notifications': 4,
  'src/monitors': 4,
  'src/schedules': 4,
  'src/issues': 4,
  'src/gates': 4,
  'src/previews': 4,
  'src/pullRequests': 4,
  'src/transfers': 4,
  'src/backups': 4,
  'src/logs': 4,
  'src/daemons': 4,
  'src/metrics': 1,
  src: 5,
  daemon: 6,
}

export interface Import {
  from: string
  to: string
  line: string
}
/** All source files, by their paths from the root. */
export const sources = ['src', 'cli', 'daemon']
  .flatMap(folder =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map(file => join(folder, file)),
  )
  .filter(file => /\.tsx?$/.test(file))
/** Their imports of each other: statements, also of types, and `import()`. */
export const imports: Import[] = sources.flatMap(file =>
  [
    ...readFileSync(join(root, file), 'utf8').matchAll(
      /(?:^|\n)(?:import|export)\b[^'"=(]*?from '(\.[^']+)'|import\('(\.[^']+)'\)/g,
    ),
  ].map(([line, stated, lazy]) => ({
    from: file,
    to: relative(root, resolve(root, dirname(file), stated ?? lazy!)),
    line: line.trim().replaceAll(/\s+/g, ' '),
  })),
)

/** The module of a file: the deepest folder that has a layer. */
export const room = (file: string) =>
  Object.keys(floors)
    .filter(folder => file.startsWith(`${folder}/`))
    .sort((a, b) => b.length - a.length)[0]

/** Imports of a module on a higher layer. `cli` is next to the layers above it and has its own rule. */
export const upwardImports: readonly Import[] = imports.filter(
  ({ from, to }) => !from.startsWith('cli/') && room(to) !== undefined && floors[room(to)!]! > floors[room(from)!]!,
)

/** The module of a file: a folder of `src`, or one of the programs. */
const moduleOf = (file: string): string => /^(cli|daemon|src(?=\/[^/]+$)|src\/[^/]+)/.exec(file)![0]

/** The dependencies between modules. */
const moduleDependencies: readonly { from: string; to: string }[] = imports
  .filter(({ to }) => sources.includes(to))
  .map(({ from, to }) => ({ from: moduleOf(from), to: moduleOf(to) }))
  .filter(({ from, to }) => from !== to)

/** The modules in layers, lowest first: a module is one layer above the highest one that it depends on. */
export function moduleLayers(): string[][] {
  const depths = new Map<string, number>()
  const depthOf = (module: string): number => {
    const known = depths.get(module)
    if (known !== undefined) return known
    const below = moduleDependencies.filter(({ from }) => from === module).map(({ to }) => depthOf(to))
    const depth = Math.max(-1, ...below) + 1
    depths.set(module, depth)
    return depth
  }
  const layers: string[][] = []
  for (const module of new Set(sources.map(moduleOf))) (layers[depthOf(module)] ??= []).push(module)
  return layers
}

/** Groups of nodes that lead to each other. */
export function findCycles(edges: readonly { from: string; to: string }[]): string[][] {
  const targets = new Map<string, Set<string>>()
  for (const { from, to } of edges) targets.set(from, (targets.get(from) ?? new Set()).add(to))
  // Tarjan's algorithm: a group is complete when a search returns to its first node.
  const order = new Map<string, number>()
  const open: string[] = []
  const cycles: string[][] = []
  const visit = (node: string): number => {
    const at = order.size
    order.set(node, at)
    open.push(node)
    let first = at
    for (const next of targets.get(node) ?? []) {
      if (!order.has(next)) first = Math.min(first, visit(next))
      else if (open.includes(next)) first = Math.min(first, order.get(next)!)
    }
    if (first === at) {
      const group = open.splice(open.indexOf(node))
      if (group.length > 1 || targets.get(node)?.has(node)) cycles.push(group.toSorted())
    }
    return first
  }
  for (const node of targets.keys()) if (!order.has(node)) visit(node)
  return cycles
}
