fn main() {
    let seed: u64 = std::env::args().nth(1).unwrap().parse().unwrap();
    let (s, b) = legwork_sim::campaign::story(seed);
    println!("{s}\n{b:#?}");
}
