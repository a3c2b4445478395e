export const sizes = [100, 10_000, 100_000]
export const [smallest, largest] = [100, 100_000]
