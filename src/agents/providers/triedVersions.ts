/**
 * The version of each agent that this board was tested with, as the agent reports it. See test/agents-real/package.json for the
 * packages.
 */
export const triedVersions: Readonly<Record<string, string>> = {
  claude: '0.49.0',
  codex: '2.6.0',
  gemini: '0.61.0',
  copilot: '1.0.102',
  opencode: '1.18.33',
  qwen: '0.15.10',
}
