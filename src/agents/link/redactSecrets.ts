const shortestHidden = 6

/** Puts asterisks in place of secrets, also as they look within JSON and URLs. */
export function hideSecrets(words: string, secrets: readonly string[]): string {
  const forms = secrets
    .filter(secret => secret.length >= shortestHidden)
    .flatMap(secret => [secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret)])
  return [...new Set(forms)]
    .sort((a, b) => b.length - a.length)
    .reduce((text, form) => text.replaceAll(form, '***'), words)
}
