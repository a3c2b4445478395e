// The table in docs/agents.md: compares it with the results, or writes them (npm run test:agents -- --table).
import { existsSync, readFileSync, writeFileSync } from 'node:fs'

const file = 'docs/agents.md'
const [begin, end] = ['<!-- table: begin -->\n', '<!-- table: end -->']
const unknown = '–'
const columns =
  'found,starts,credential,base URL,model,asks,refuses,steer,cancel,resume,relay,MCP,usage,401,404,429,500,key,kill -9,agent killed,other hosts'.split(
    ',',
  )
const packages = {
  claude: '@agentclientprotocol/claude-agent-acp',
  codex: '@agentclientprotocol/codex-acp',
  gemini: '@google/gemini-cli',
  copilot: '@github/copilot',
  opencode: 'opencode-ai',
  qwen: '@qwen-code/qwen-code',
}

/** Whether the table matches the results. With `writes` the table is updated. */
export function compareTable(cellsFile, writes) {
  const ran = existsSync(cellsFile) ? readFileSync(cellsFile, 'utf8').split('\n').filter(Boolean) : []
  const text = readFileSync(file, 'utf8')
  const [before, rest] = text.split(begin)
  const [table, after] = rest.split(end)
  const { dependencies } = JSON.parse(readFileSync('test/agents-real/package.json', 'utf8'))
  const [head = '', , ...rows] = table.split('\n').filter(Boolean)
  const names = cellsOf(head)
  const known = Object.fromEntries(rows.map(cellsOf).map(([agent, ...cells]) => [agent, rowOf(names.slice(1), cells)]))
  const differences = []
  for (const { agent, cell, value } of ran.map(line => JSON.parse(line))) {
    const row = (known[agent] ??= {})
    if (row[cell] !== value) differences.push(`${agent}, ${cell}: ${row[cell] ?? unknown} is ${value}`)
    row[cell] = value
  }
  if (writes) {
    const rows = Object.keys(packages).map(agent => {
      const cells = columns.map(column => known[agent]?.[column] ?? unknown)
      return `| ${[agent, dependencies[packages[agent]], ...cells].join(' | ')} |`
    })
    const head = ['agent', 'version', ...columns]
    const lines = [`| ${head.join(' | ')} |`, `| ${head.map(() => '---').join(' | ')} |`, ...rows]
    writeFileSync(file, `${before}${begin}\n${lines.join('\n')}\n\n${end}${after}`)
    return true
  }
  for (const each of differences) console.error(`${file} is not what ran: ${each}`)
  return differences.length === 0
}

const cellsOf = line =>
  line
    .split('|')
    .slice(1, -1)
    .map(each => each.trim())
const rowOf = (names, cells) => Object.fromEntries(names.map((name, at) => [name, cells[at]]))
