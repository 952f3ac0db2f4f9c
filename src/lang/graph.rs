//! Which nodes of a graph lead to each other.

/// Of each node the number of its group: two are in one if each leads to the other; where a group leads has lower
/// numbers. `edges` has per node where it leads. Tarjan's algorithm with a stack of its own, for a chain may have
/// thousands of nodes.
pub(crate) fn strongly_connected(edges: &[Vec<usize>]) -> Vec<usize> {
    const UNSEEN: usize = usize::MAX;
    let n = edges.len();
    let (mut order, mut low, mut component) = (vec![UNSEEN; n], vec![0; n], vec![UNSEEN; n]);
    let (mut stack, mut n_seen, mut n_components) = (Vec::new(), 0, 0);
    for root in 0..n {
        if order[root] != UNSEEN {
            continue;
        }
        let mut path = vec![(root, 0)];
        while let Some((node, next)) = path.last_mut() {
            let node = *node;
            if *next == 0 {
                order[node] = n_seen;
                low[node] = n_seen;
                n_seen += 1;
                stack.push(node);
            }
            if let Some(&next_node) = edges[node].get(*next) {
                *next += 1;
                if order[next_node] == UNSEEN {
                    path.push((next_node, 0));
                } else if component[next_node] == UNSEEN {
                    low[node] = low[node].min(order[next_node]);
                }
                continue;
            }
            path.pop();
            if let Some((before, _)) = path.last() {
                low[*before] = low[*before].min(low[node]);
            }
            if low[node] == order[node] {
                while let Some(member) = stack.pop() {
                    component[member] = n_components;
                    if member == node {
                        break;
                    }
                }
                n_components += 1;
            }
        }
    }
    component
}
